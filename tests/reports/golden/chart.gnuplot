# Run in this folder: gnuplot chart.gnuplot
set encoding utf8
set grid lc rgb '#DDDDDD'
set key outside right top noenhanced
set bmargin 8
set label 1 'a cpu''s caption, commit 0123456789ab' at screen 0.02, 0.03 noenhanced tc rgb '#555555'
set title 'it''s a title'
set xlabel 'tokens'
set ylabel 'error'
set logscale y
set format y '%.0e'
set logscale x 2
set terminal svg size 1000,600 font 'sans,12' background rgb 'white' noenhanced
set output 'chart.svg'
plot 'chart.dat' index 0 using 1:2 with points lc rgb '#0072B2' pt 7 ps 0.7 title 'fa_3', 'chart.dat' index 0 using 1:3 with lines lc rgb '#0072B2' lw 1.5 notitle, 'chart.dat' index 1 using 1:2 with points lc rgb '#D55E00' pt 5 ps 0.7 title '`f32`', 'chart.dat' index 1 using 1:3 with lines lc rgb '#D55E00' lw 1.5 notitle
set terminal pngcairo size 1000,600 font 'sans,10' background rgb 'white' noenhanced
set output 'chart.png'
plot 'chart.dat' index 0 using 1:2 with points lc rgb '#0072B2' pt 7 ps 0.7 title 'fa_3', 'chart.dat' index 0 using 1:3 with lines lc rgb '#0072B2' lw 1.5 notitle, 'chart.dat' index 1 using 1:2 with points lc rgb '#D55E00' pt 5 ps 0.7 title '`f32`', 'chart.dat' index 1 using 1:3 with lines lc rgb '#D55E00' lw 1.5 notitle
set output
